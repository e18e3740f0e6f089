import { memoryPortClaims, runClaims } from "ennead/testkit";
import { describe, test } from "vitest";
import { type VectorDatabase, VectorMemory } from "../parts/vector-memory.js";

// #region claims
type Row = { readonly id: string; readonly vector: readonly number[]; readonly json: string };

/** A database of the test's own, which can also be damaged behind the memory's back. */
class ListedVectors implements VectorDatabase {
  #rows: Row[] = [];

  async put(id: string, vector: readonly number[], json: string): Promise<void> {
    this.#rows = [{ id, vector, json }, ...this.#rows.filter((row) => row.id !== id)];
  }

  async remove(id: string): Promise<void> {
    this.#rows = this.#rows.filter((row) => row.id !== id);
  }

  async nearest(vector: readonly number[], limit: number, accept: (json: string) => boolean) {
    return this.#rows
      .filter(({ json }) => accept(json))
      .map(({ json, vector: own }) => ({ json, cosine: cosineOf(vector, own) }))
      .sort((a, b) => b.cosine - a.cosine)
      .slice(0, limit);
  }

  damage(id: string): void {
    this.#rows = this.#rows.map((row) => (row.id === id ? { ...row, json: row.json.slice(0, -9) } : row));
  }
}

/** In place of a model: how often the end of a text has which letters. */
async function letters(text: string): Promise<readonly number[]> {
  const counts: number[] = Array.from({ length: 98 }, (_, n) => (n === 97 ? 0.1 : 0));
  for (const letter of text.toLowerCase().slice(-40)) {
    const index = (letter.codePointAt(0) ?? 0) % 97;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

describe("VectorMemory", () => {
  runClaims({
    test,
    claims: memoryPortClaims,
    make: () => {
      const database = new ListedVectors();
      return {
        memory: new VectorMemory(database, letters),
        scores: [-1, 1] as const,
        reopen: () => new VectorMemory(database, letters),
        damage: (id) => database.damage(id),
      };
    },
    capabilities: {
      words: { missing: "every entry is somehow near" },
      scripts: { missing: "what is near is the model's business" },
    },
  });
});
// #endregion claims

function cosineOf(a: readonly number[], b: readonly number[]): number {
  const product = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, n) => sum + value * (y[n] ?? 0), 0);
  return Math.max(-1, Math.min(1, product(a, b) / Math.sqrt(product(a, a) * product(b, b))));
}
