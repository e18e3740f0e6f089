import { callReply, textReply } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** One call whose arguments are 200 KB in 10,000 pieces, then text. */
const args = { path: "notes.txt", content: 'line of "text"\n'.repeat(11_109) };

export const replies = [callReply([{ id: "call_1", name: "write", args }], 20), textReply(20)];
export const plan = { warmUp: 40, turns: 80, quick: { warmUp: 1, turns: 2 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies });
