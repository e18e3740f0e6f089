import { threeCalls } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** A turn with three parallel validated calls, then text. */
export const replies = threeCalls();
export const plan = { warmUp: 1500, turns: 2500, quick: { warmUp: 20, turns: 20 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies });
