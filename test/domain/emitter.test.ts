import { describe, expect, it } from "vitest";
import { createEmitter } from "../../src/index.js";

describe("createEmitter", () => {
  it("tells every listener, in the order of subscription, what is emitted after it subscribed", () => {
    const heard: string[] = [];
    const emitter = createEmitter<number>();
    emitter.emit(0);
    emitter.subscribe((value) => heard.push(`first ${value}`));
    emitter.emit(1);
    emitter.subscribe((value) => heard.push(`second ${value}`));
    emitter.emit(2);
    expect(heard).toEqual(["first 1", "first 2", "second 2"]);
  });

  it("ends one subscription at a time, in the middle of an emit too", () => {
    const heard: string[] = [];
    const emitter = createEmitter<void>();
    const listener = (): void => void heard.push("twice");
    const stop = emitter.subscribe(listener);
    emitter.subscribe(() => stops.forEach((end) => end()));
    const stops = [stop, emitter.subscribe(() => heard.push("never"))];
    emitter.subscribe(listener);
    emitter.emit();
    expect(heard).toEqual(["twice", "twice"]);
    emitter.emit();
    expect(heard).toHaveLength(3);
  });

  it("lets nobody hear a value in whose emit it subscribed", () => {
    const heard: number[] = [];
    const emitter = createEmitter<number>();
    emitter.subscribe(() => emitter.subscribe((value) => heard.push(value)));
    emitter.emit(1);
    expect(heard).toEqual([]);
  });

  it("throws what listeners threw once all have heard the value", () => {
    const heard: number[] = [];
    const emitter = createEmitter<number>();
    const boom = new Error("boom");
    emitter.subscribe(() => {
      throw boom;
    });
    emitter.subscribe((value) => heard.push(value));
    expect(() => emitter.emit(1)).toThrow(boom);
    emitter.subscribe(() => {
      throw "bang";
    });
    expect(() => emitter.emit(2)).toThrow(expect.objectContaining({ errors: [boom, "bang"] }));
    expect(heard).toEqual([1, 2]);
  });

  it("tells nobody anything once it is closed", () => {
    const heard: number[] = [];
    const emitter = createEmitter<number>();
    emitter.subscribe((value) => heard.push(value));
    emitter.close();
    emitter.close();
    const stop = emitter.subscribe((value) => heard.push(value));
    emitter.emit(1);
    stop();
    expect(heard).toEqual([]);
  });
});
