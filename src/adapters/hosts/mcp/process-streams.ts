import { Writable } from "node:stream";
import { CompositionError } from "../../../domain/errors.js";
import type { Streams } from "./stream-transport.js";

/** Keeps the process alive when its output breaks while nobody listens any longer. */
const ignore = (): void => undefined;
let taken = false;

/**
 * The streams of this process, its output for the protocol alone: until the end of the block whatever else is written to `process.stdout`, as
 * `console.log` does, goes to stderr. What is written past it, by a child that inherited the output for one, cannot be told apart. Throws
 * `CompositionError("invalid-config")` while they are in use.
 */
export function processStreams(): Streams & Disposable {
  if (taken)
    throw new CompositionError(
      "invalid-config",
      "mcpServer: a client is served on the streams of this process already",
    );
  taken = true;
  const { stdin: input, stdout, stderr } = process;
  const write = stdout.write;
  const aside = stderr.write.bind(stderr) as typeof write;
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write.call(stdout, chunk, undefined, (error) => done(error)),
  });
  const broken = (error: Error): void => void output.destroy(error);
  if (!stdout.listeners("error").includes(ignore)) stdout.on("error", ignore);
  stdout.on("error", broken);
  stdout.write = aside;
  return {
    input,
    output,
    [Symbol.dispose]() {
      taken = false;
      if (stdout.write === aside) stdout.write = write;
      stdout.off("error", broken);
    },
  };
}
