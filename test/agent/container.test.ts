import "reflect-metadata";
import { container as root, instanceCachingFactory, Lifecycle as Scope } from "tsyringe";
import { describe, expect, it } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { ToolRegistry } from "../../src/adapters/tools/index.js";
import { createAgent, createScope, Ports } from "../../src/agent/container.js";
import type { PipelineHook } from "../../src/index.js";
import { modelStep, RecordingObserver, ScriptedModel, stopResponse, toolDef } from "../../src/testkit/index.js";

const says = (text: string): ScriptedModel => new ScriptedModel([modelStep.respond(stopResponse(text))]);

function filled(text = "parent") {
  const container = root.createChildContainer();
  container.registerInstance(Ports.Model, says(text));
  container.registerInstance(Ports.Sessions, new MemorySessionStore());
  return container;
}

function naming(name: string, seen: string[]): PipelineHook {
  return { name, stages: ["beforeTurn"], onStage: () => void seen.push(name) };
}

describe("createAgent", () => {
  it("runs a turn on what is registered", async () => {
    await using agent = await createAgent(filled("hello"));
    await expect(agent.runTurn("hi")).resolves.toMatchObject({ status: "completed", text: "hello" });
  });

  it("takes a multi port in the order of registration", async () => {
    const container = filled();
    const seen: string[] = [];
    for (const name of ["first", "second", "third"]) container.registerInstance(Ports.Hooks, naming(name, seen));
    await using agent = await createAgent(container);
    await agent.runTurn("hi");
    expect(seen).toEqual(["first", "second", "third"]);
  });

  it("treats a port nobody registered as an empty list, where tsyringe itself throws", async () => {
    const container = filled();
    expect(() => container.resolveAll(Ports.Hooks)).toThrow();
    await using agent = await createAgent(container);
    await expect(agent.runTurn("hi")).resolves.toMatchObject({ status: "completed" });
  });

  it("refuses a container without model or without store", async () => {
    const noModel = root.createChildContainer();
    noModel.registerInstance(Ports.Sessions, new MemorySessionStore());
    const noStore = root.createChildContainer();
    noStore.registerInstance(Ports.Model, says("x"));
    await expect(createAgent(noModel)).rejects.toMatchObject({ name: "CompositionError", kind: "empty-port" });
    await expect(createAgent(noStore)).rejects.toMatchObject({ name: "CompositionError", kind: "empty-port" });
  });

  it("passes the config on and fails fast on a wrong one", async () => {
    await expect(createAgent(filled(), { config: { maxToolRounds: Number.NaN } })).rejects.toMatchObject({
      kind: "invalid-config",
    });
  });

  it("has tokens that another copy of the package shares", () => {
    expect(Ports.Model).toBe(Symbol.for("ennead.port.model"));
  });
});

describe("a child container", () => {
  it("made by createScope has the parent's list and then its own", async () => {
    const parent = filled();
    const seen: string[] = [];
    parent.registerInstance(Ports.Hooks, naming("approval", seen));
    const tenant = createScope(parent);
    tenant.registerInstance(Ports.Hooks, naming("tenant", seen));
    await using agent = await createAgent(tenant);
    await agent.runTurn("hi");
    expect(seen).toEqual(["approval", "tenant"]);
  });

  it("made by createScope inside another has all three lists", async () => {
    const seen: string[] = [];
    const parent = filled();
    parent.registerInstance(Ports.Hooks, naming("outer", seen));
    const tenant = createScope(parent);
    tenant.registerInstance(Ports.Hooks, naming("tenant", seen));
    const request = createScope(tenant);
    request.registerInstance(Ports.Hooks, naming("request", seen));
    await using agent = await createAgent(request);
    await agent.runTurn("hi");
    expect(seen).toEqual(["outer", "tenant", "request"]);
  });

  it("overrides the model for one tenant and leaks to nobody", async () => {
    const parent = filled("parent");
    const tenant = createScope(parent);
    tenant.registerInstance(Ports.Model, says("tenant"));
    await using ofTenant = await createAgent(tenant);
    await using ofParent = await createAgent(parent);
    expect((await ofTenant.runTurn("hi")).text).toBe("tenant");
    expect((await ofParent.runTurn("hi")).text).toBe("parent");
  });

  it("shares a store that the parent holds as an instance", async () => {
    const parent = filled("one");
    await using agent = await createAgent(createScope(parent));
    const { finalSessionId } = await agent.runTurn("hi");
    const store = parent.resolve(Ports.Sessions);
    expect((await store.load(finalSessionId)).messages).toHaveLength(2);
  });

  it("that would hide the parent's list is refused, since tsyringe drops the parent's silently", async () => {
    const parent = filled();
    parent.registerInstance(Ports.Hooks, naming("approval", []));
    const plain = parent.createChildContainer();
    plain.registerInstance(Ports.Hooks, naming("tenant", []));
    expect(plain.resolveAll(Ports.Hooks)).toHaveLength(1);
    await expect(createAgent(plain)).rejects.toMatchObject({
      kind: "hidden-port",
      message: expect.stringContaining("Hooks"),
    });
  });

  it("may replace a list by name", async () => {
    const seen: string[] = [];
    const parent = filled();
    parent.registerInstance(Ports.Hooks, naming("approval", seen));
    const plain = parent.createChildContainer();
    plain.registerInstance(Ports.Hooks, naming("tenant", seen));
    await using agent = await createAgent(plain, { replace: ["Hooks"] });
    await agent.runTurn("hi");
    expect(seen).toEqual(["tenant"]);
  });

  it("does not leave its overrides in a singleton of the parent, which tsyringe does when the child resolves it first", async () => {
    const Registry = Symbol("registry");
    const parent = filled();
    parent.register(Registry, { useValue: "parent's" });
    class NamedTools extends ToolRegistry {
      constructor(readonly owner: string) {
        super();
      }
    }
    parent.register(Ports.Tools, {
      useFactory: instanceCachingFactory((c) => new NamedTools(c.resolve<string>(Registry))),
    });
    const tenant = createScope(parent);
    tenant.register(Registry, { useValue: "tenant's" });
    await using agent = await createAgent(tenant);
    await agent.runTurn("hi");
    expect((parent.resolve(Ports.Tools) as NamedTools).owner).toBe("parent's");
  });

  it("resolved by tsyringe alone does leak: the trap this guards against is real", () => {
    const Owner = Symbol("owner");
    const parent = root.createChildContainer();
    parent.register(Owner, { useValue: "parent's" });
    const token = Symbol("cached");
    parent.register(token, { useFactory: instanceCachingFactory((c) => ({ owner: c.resolve<string>(Owner) })) });
    const child = parent.createChildContainer();
    child.register(Owner, { useValue: "tenant's" });
    child.resolve(token);
    expect(parent.resolve<{ owner: string }>(token).owner).toBe("tenant's");
  });
});

describe("traps of the container", () => {
  it("dispose() skips instances, so the agent's own shutdown closes lifecycles, once", async () => {
    let closed = 0;
    const container = filled();
    const lifecycle = { onShutdown: async () => void (closed += 1), dispose: () => void (closed += 100) };
    container.registerInstance(Ports.Lifecycles, lifecycle);
    const agent = await createAgent(container);
    await agent.shutdown();
    await agent.shutdown();
    await container.dispose();
    expect(closed).toBe(1);
  });

  it("tsyringe's own Lifecycle is an enum of scopes and no port", () => {
    expect(Scope.Singleton).toBeTypeOf("number");
    expect(Ports.Lifecycles).toBe(Symbol.for("ennead.port.lifecycles"));
  });

  it("a class resolves by factory, without decorators", async () => {
    const container = filled();
    const observer = new RecordingObserver();
    container.register(Ports.Observers, { useFactory: () => observer });
    await using agent = await createAgent(container);
    await agent.runTurn("hi");
    expect(observer.events.at(-1)?.type).toBe("turnCompleted");
  });

  it("two tools of one name in parent and child fail the composition with both sources", async () => {
    const tool = (source: string) => ({
      name: source,
      listTools: () => [toolDef("search")],
      execute: () => "x",
    });
    const parent = filled();
    parent.registerInstance(Ports.Tools, tool("catalogue"));
    const tenant = createScope(parent);
    tenant.registerInstance(Ports.Tools, tool("tenant-tools"));
    await expect(createAgent(tenant)).rejects.toMatchObject({
      kind: "tool-collision",
      message: expect.stringMatching(/search.*catalogue.*tenant-tools/),
    });
  });
});
