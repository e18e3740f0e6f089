import { SessionError } from "../../../src/domain/errors.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { openAt, type StorePlace } from "../../support/store-place.js";

/**
 * A process of its own: makes `count` appends of three messages each, in turn to these sessions, again after a conflict, and prints session
 * and number of each acknowledged one.
 */
export type WriterTask = {
  readonly place: StorePlace;
  readonly name: string;
  readonly count: number;
  readonly sessions: readonly string[];
};

const { place, name, count, sessions } = JSON.parse(process.argv[2] ?? "") as WriterTask;
const store = openAt(place);
const known = new Map<string, number>();
for (let n = 0; n < count; n++) {
  const session = sessions[n % sessions.length] ?? "";
  const id = `${name}.${n}`;
  const messages = ["a", "b", "c"].map((part) => note(`${id}.${part}`));
  for (let stored = false; !stored; ) {
    try {
      const delta = deltaOf(id, known.get(session) ?? 0, messages, { metadata: { [name]: n, last: id } });
      known.set(session, await store.append(session, delta));
      stored = true;
    } catch (error) {
      if (!(error instanceof SessionError && error.kind === "conflict")) throw error;
      known.set(session, (await store.load(session, known.get(session))).revision);
    }
  }
  // What is only buffered here would be lost with the process, and would count as not acknowledged.
  await new Promise<void>((resolve) => void process.stdout.write(`${session} ${n}\n`, () => resolve()));
}
await store.close();
