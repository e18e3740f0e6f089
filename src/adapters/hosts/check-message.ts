/** What became of one claim of one export. Texts are as they came: nothing is escaped. */
export type ClaimLine = { readonly subject: string; readonly id: string; readonly title: string } & (
  | { readonly outcome: "passed" }
  | ({ readonly outcome: "failed" } & Failure)
  | { readonly outcome: "skipped"; readonly reason: string }
);

/** What went wrong, and where in the code of the module or of what it uses, as `file:line:column`. */
export type Failure = { readonly message: string; readonly place?: string | undefined };

/** An export that is checked. */
export type Subject = { readonly name: string; readonly port: string };

/** What the process that checks a module is told; the file is absolute. */
export type CheckOrder = {
  readonly file: string;
  readonly only: readonly string[];
  readonly timeoutMs: number;
  /** Marks what it says, since the module may send messages too. */
  readonly token: string;
};

/** What the process that checks a module says, in this order: one `subjects`, then a `begun` and a `settled` for each claim, then `done`. */
export type CheckMessage =
  | { readonly type: "subjects"; readonly subjects: readonly Subject[] }
  | { readonly type: "begun"; readonly subject: string; readonly id: string; readonly title: string }
  | { readonly type: "settled"; readonly line: ClaimLine }
  | { readonly type: "unusable"; readonly failure: Failure }
  | { readonly type: "done" };

/** The message of our own process, undefined for any other. */
export function ownMessage(token: string, received: unknown): CheckMessage | undefined {
  if (typeof received !== "object" || received === null || !("token" in received && "message" in received))
    return undefined;
  return received.token === token ? (received.message as CheckMessage) : undefined;
}
