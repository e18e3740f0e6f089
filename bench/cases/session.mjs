import { textReply } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** Sessions of 1,000 turns; a lap is 100 of them, so that the last can be held against the first. */
export const replies = [textReply(20)];
export const plan = {
  warmUp: 4000,
  turns: 4000,
  turnsPerSession: 1000,
  lap: 100,
  quick: { warmUp: 20, turns: 20, turnsPerSession: 20, lap: 2 },
};
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies });
