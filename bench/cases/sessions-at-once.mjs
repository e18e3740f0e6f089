import { threeCalls } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** 1,000 sessions at once, each with three parallel calls that wait 5 ms. */
export const replies = threeCalls();
const waitMs = 5;
export const plan = { warmUp: 2000, turns: 3000, atOnce: 1000, quick: { warmUp: 20, turns: 20, atOnce: 20 } };
export const bare = () => bareSubject({ replies, waitMs });
export const ennead = () => enneadSubject({ replies, waitMs });
