import "reflect-metadata";
import { expect, test } from "vitest";
import { type DependencyContainer, container as root } from "tsyringe";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import type { Agent } from "../../src/agent/agent.js";
import { createAgent, createScope, Ports } from "../../src/agent/container.js";
import { stopResponse } from "../../src/testkit/index.js";

function shared(): DependencyContainer {
  const container = root.createChildContainer();
  container.registerInstance(Ports.Model, { chat: async () => stopResponse("hello") });
  return container;
}

async function tenantOf(parent: DependencyContainer, store = new MemorySessionStore()) {
  const scope = createScope(parent);
  scope.registerInstance(Ports.Sessions, store);
  const agent: Agent = await createAgent(scope);
  return { agent, store, [Symbol.asyncDispose]: () => agent.shutdown() };
}

test("tenants with stores of their own never see one another's sessions, also under one id, nor does the parent", async () => {
  const parent = shared();
  await using a = await tenantOf(parent);
  await using b = await tenantOf(parent);
  await a.agent.runTurn("the secret of a", "s");
  await b.agent.runTurn("the secret of b", "s");
  await a.agent.sessions.fork("s");
  expect(JSON.stringify(await b.agent.session("s"))).not.toContain("secret of a");
  expect(JSON.stringify(await a.agent.session("s"))).not.toContain("secret of b");
  expect((await a.agent.sessions.list()).items).toHaveLength(2);
  expect((await b.agent.sessions.list()).items).toHaveLength(1);
  expect(parent.isRegistered(Ports.Sessions)).toBe(false);
  await expect(createAgent(parent)).rejects.toMatchObject({ name: "CompositionError" });
});

test("where the parent has a store, `replace` keeps a tenant's sessions out of it; without it the tenant's own is a mirror", async () => {
  const parent = shared();
  const everybody = new MemorySessionStore();
  parent.registerInstance(Ports.Sessions, everybody);
  const own = new MemorySessionStore();
  const scope = createScope(parent);
  scope.registerInstance(Ports.Sessions, own);
  await using alone = await createAgent(scope, { replace: ["Sessions"] });
  await alone.runTurn("mine", "s");
  expect((await everybody.load("s")).messages).toEqual([]);
  expect((await own.load("s")).messages).toHaveLength(2);
  await using mirrored = await createAgent(scope);
  await mirrored.runTurn("shared", "t");
  for (const store of [everybody, own]) expect((await store.load("t")).messages).toHaveLength(2);
});

test("a store that a scope constructs is constructed once for each scope, and never in the parent", async () => {
  const parent = shared();
  const made: string[] = [];
  const agents = await Promise.all(
    ["a", "b"].map((name) => {
      const scope = createScope(parent);
      scope.register(Ports.Sessions, {
        useFactory: () => {
          made.push(name);
          return new MemorySessionStore();
        },
      });
      return createAgent(scope);
    }),
  );
  for (const agent of agents) await agent.runTurn("hi", "s");
  expect(made).toEqual(["a", "b"]);
  for (const agent of agents) {
    expect((await agent.session("s")).messages).toHaveLength(2);
    await agent.shutdown();
  }
});
