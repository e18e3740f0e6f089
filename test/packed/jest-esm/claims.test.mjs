import { MemorySessionStore } from "ennead/sessions/memory";
import { observerClaims, runClaims, sessionStoreClaims } from "ennead/testkit";

describe("a sound store", () => {
  const missing = { missing: "nothing is kept outside this process" };
  const make = () => ({ store: new MemorySessionStore() });
  runClaims({ test, claims: sessionStoreClaims, make, capabilities: { damage: missing, reopen: missing } });
});

describe("a broken observer", () => {
  const make = () => ({ observer: { onEvent: () => Promise.resolve() } });
  runClaims({ test, claims: observerClaims, make });
});

describe("a store nobody can make", () => {
  const [claim] = sessionStoreClaims;
  runClaims({ test, claims: [claim], make: () => new Promise(() => {}), timeoutMs: 50 });
});
