/** The observer and the hook of both variants: they count, so that the result can be checked. */
export class Counter {
  chunks = 0;
  messages = 0;
  toolStarts = 0;
  toolResults = 0;
  beforeModel = 0;
  beforeTool = 0;
  afterTool = 0;

  onEvent(event) {
    switch (event.type) {
      case "streamChunk":
        this.chunks += 1;
        return;
      case "messageAdded":
      case "modelResponse":
        this.messages += 1;
        return;
      case "toolCallStarted":
        this.toolStarts += 1;
        return;
      case "toolCallResult":
        this.toolResults += 1;
        return;
      default:
        return;
    }
  }

  /** The counts as plain data. */
  counts() {
    return { ...this };
  }
}
