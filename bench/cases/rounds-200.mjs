import { manyRounds } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** The same with 200 rounds: how the cost grows with the length of a turn. */
export const replies = manyRounds(200);
export const plan = { warmUp: 20, turns: 40, quick: { warmUp: 1, turns: 1 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies, config: { maxToolRounds: 200 } });
