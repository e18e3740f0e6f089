import { textReply } from "../subjects/replies.mjs";
import { bareSubject, enneadSubject } from "../subjects/subject.mjs";

/** A turn without tools in a session of its own. */
export const replies = [textReply(20)];
export const plan = { warmUp: 3000, turns: 5000, quick: { warmUp: 20, turns: 20 } };
export const bare = () => bareSubject({ replies });
export const ennead = () => enneadSubject({ replies });
