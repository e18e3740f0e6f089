import { type ChildProcess, spawn } from "node:child_process";

/** Groups of processes that a dying process of ours takes along. */
const groups = new Set<ProcessGroup>();
let watching = false;

function killAll(): void {
  for (const group of groups) group.signal("SIGKILL");
}

/** A child that leads a group of its own, so that a signal reaches the children it made too. */
export class ProcessGroup {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    groups.add(this);
    if (!watching) process.on("exit", killAll);
    watching = true;
  }

  /** Reaches whoever is left of the group, also after its leader has ended. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (process.platform !== "win32") process.kill(-pid, name);
      else if (name === "SIGKILL") spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore" }).unref();
      else this.#child.kill(name);
    } catch {
      // Nobody is left.
    }
  }

  /** Ends what the leader left behind. */
  dispose(): void {
    this.signal("SIGKILL");
    groups.delete(this);
    if (groups.size > 0 || !watching) return;
    process.off("exit", killAll);
    watching = false;
  }
}
