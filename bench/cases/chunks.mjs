import { textReply } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** One reply of 20,000 pieces. */
export const replies = [textReply(20_000)];
export const plan = { warmUp: 30, turns: 60, quick: { warmUp: 1, turns: 2 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies });
