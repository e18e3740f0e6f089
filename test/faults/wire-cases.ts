import cases from "./wire-cases.json" with { type: "json" };

/** The bodies of a case as bytes, each in the pieces in which the network delivered it. */
export type WireCase = {
  readonly id: string;
  readonly title: string;
  readonly bodies: readonly (readonly Uint8Array[])[];
};

const encoder = new TextEncoder();

type Input = {
  readonly kind: string;
  readonly raw?: string;
  readonly chunks?: readonly string[];
  readonly variants?: readonly unknown[];
};

/** The cases that are bodies of the chat-completions wire. */
export const wireCases: readonly WireCase[] = cases.flatMap(({ id, title, input }) => {
  const bodies = bodiesOf(input as Input);
  return bodies.length === 0 ? [] : [{ id, title, bodies }];
});

export function wireCase(id: string): WireCase {
  const found = wireCases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no wire case ${id}`);
  return found;
}

function bodiesOf({ kind, raw, chunks, variants }: Input): readonly (readonly Uint8Array[])[] {
  if (kind === "sse" && raw !== undefined) return [[encoder.encode(raw)]];
  if (kind === "sse_chunks" && chunks !== undefined) return [chunks.map((piece) => encoder.encode(piece))];
  if (kind === "sse_chunks_b64" && chunks !== undefined) return [chunks.map((piece) => Buffer.from(piece, "base64"))];
  if (kind !== "variants" || variants === undefined) return [];
  return variants.flatMap((variant) => {
    const text = typeof variant === "string" ? variant : (variant as { readonly raw?: string }).raw;
    return text === undefined ? [] : [[encoder.encode(text)]];
  });
}
