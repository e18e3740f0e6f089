import { manyRounds } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** A turn of 50 rounds with one call each. */
export const replies = manyRounds(50);
export const plan = { warmUp: 60, turns: 120, quick: { warmUp: 2, turns: 2 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies, config: { maxToolRounds: 50 } });
