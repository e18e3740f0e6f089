import { Agent, defineHook, type PipelineHook, userMessage } from "ennead";
import { MemorySessionStore } from "ennead/sessions/memory";
import { ScriptedModel, stopResponse, toolCallResponse } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";

// #region hook
/** Where a goal stands: nothing is left, something is, or it depends on somebody else. */
type Standing = { readonly left: number; readonly waitsFor?: string };

/** Keeps a turn at work until its goal is met. Every so many rounds it stops at a checkpoint, from where `resumeTurn` goes on. */
function goal(standing: () => Promise<Standing>, options: { readonly checkpointEvery: number }): PipelineHook {
  return defineHook("goal", {
    beforeContinue: ({ natural, round }, context) =>
      !natural && round % options.checkpointEvery === 0 ? context.checkpoint() : undefined,
    beforeEnd: async (_stage, context) => {
      const { left, waitsFor } = await standing();
      if (left === 0) return undefined;
      if (waitsFor !== undefined) return context.wait(waitsFor);
      return context.goOn([userMessage(`${left} chapters are left. Go on.`)]);
    },
  });
}
// #endregion hook

const delivered = new Set([1, 2, 3]);
const translated = new Set<number>();
const translate = defineTool({
  name: "translate",
  description: "Translates one chapter.",
  parameters: Type.Object({ chapter: Type.Integer() }),
  annotations: { idempotentHint: true },
  execute: ({ chapter }) => {
    translated.add(chapter);
    return `Chapter ${chapter} is translated.`;
  },
});
const standing = async (): Promise<Standing> => {
  const ready = [...delivered].some((chapter) => !translated.has(chapter));
  return { left: 4 - translated.size, ...(ready ? {} : { waitsFor: "the author" }) };
};

// Stands in for a model that likes to stop early.
const model = new ScriptedModel([
  toolCallResponse("translate", "call-1", { chapter: 1 }),
  stopResponse("The first chapter is done!"),
  toolCallResponse("translate", "call-2", { chapter: 2 }),
  toolCallResponse("translate", "call-3", { chapter: 3 }),
  stopResponse("That is all I was given."),
  toolCallResponse("translate", "call-4", { chapter: 4 }),
  stopResponse("The book is translated."),
]);
const agent = await Agent.create({
  model,
  tools: [translate],
  hooks: [goal(standing, { checkpointEvery: 3 })],
  sessions: [new MemorySessionStore()],
});

// #region run
const first = await agent.runTurn("Translate the book, all four chapters.", "book");
console.log(first.status, first.stopReason, [...translated]);
//> stopped checkpoint [ 1, 2 ]

const second = await agent.resumeTurn("book");
console.log(second.status, second.stopReason, [...translated]);
//> stopped waiting [ 1, 2, 3 ]

// Days later, perhaps in another process: the outside world has moved.
delivered.add(4);
await agent.appendMessage("book", userMessage("The author has sent chapter 4."));
const third = await agent.resumeTurn("book");
console.log(third.status, third.text, [...translated]);
//> completed The book is translated. [ 1, 2, 3, 4 ]
// #endregion run
await agent.shutdown();
