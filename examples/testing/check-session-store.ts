import { MapSessionStore } from "../parts/map-session-store.ts";

const missing = { missing: "nothing is kept outside this process" };

export const sessionStore = {
  make: () => new MapSessionStore(),
  capabilities: {
    append: { missing: "the agent uses load and save instead" },
    list: { missing: "a map for one process" },
    delete: { missing: "a map for one process" },
    damage: missing,
    reopen: missing,
  },
};
