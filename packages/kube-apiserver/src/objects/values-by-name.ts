// SPDX-License-Identifier: Apache-2.0

/** Names up to which one map has them all. A map that grows is copied, which takes 100 ms for millions of names. */
const mostTogether = 50_000;
const partCount = 64;

/** Sets of values by name, for millions of names that mostly have one value: such a name takes no set. */
export class ValuesByName<V extends object> {
  #size = 0;
  #parts: readonly Map<string, V | Set<V>>[] = [new Map()];

  /** How many names have values. */
  get size(): number {
    return this.#size;
  }

  add(name: string, value: V): void {
    const part = this.#partOf(name);
    const known = part.get(name);
    if (known instanceof Set) known.add(value);
    else if (known !== undefined && known !== value) part.set(name, new Set([known, value]));
    if (known !== undefined) return;
    part.set(name, value);
    this.#size += 1;
    if (this.#size > mostTogether && this.#parts.length === 1) this.#divide();
  }

  delete(name: string, value: V): void {
    const part = this.#partOf(name);
    const known = part.get(name);
    if (known === value) {
      part.delete(name);
      this.#size -= 1;
    } else if (known instanceof Set) {
      known.delete(value);
      const [last] = known;
      if (known.size === 1 && last !== undefined) part.set(name, last);
    }
  }

  /** The values of a name as they are now, each once. */
  of(name: string): readonly V[] {
    const known = this.#partOf(name).get(name);
    if (known === undefined) return [];
    return known instanceof Set ? [...known] : [known];
  }

  #partOf(name: string): Map<string, V | Set<V>> {
    const [first] = this.#parts;
    const part = this.#parts.length === 1 ? first : this.#parts[partNumber(name)];
    if (part === undefined) throw new Error("a part of the map is missing");
    return part;
  }

  #divide(): void {
    const [all = new Map<string, V | Set<V>>()] = this.#parts;
    this.#parts = Array.from({ length: partCount }, () => new Map());
    for (const [name, values] of all) this.#partOf(name).set(name, values);
  }
}

/** Characters at the end of a name that decide about its part: the beginnings are often the same. */
const comparedCharacters = 32;

function partNumber(name: string): number {
  let hash = 0;
  for (let i = Math.max(0, name.length - comparedCharacters); i < name.length; i++) {
    hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  }
  return (hash ^ (hash >>> 16)) & (partCount - 1);
}
