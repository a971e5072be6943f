// SPDX-License-Identifier: Apache-2.0

/** Something that is due at a time. */
export interface Due<T> {
  readonly at: number;
  readonly value: T;
}

/** What is due when, earliest first. Adding and taking cost the logarithm of how much there is. */
export class DelayHeap<T> {
  readonly #entries: Due<T>[] = [];

  get size(): number {
    return this.#entries.length;
  }

  peek(): Due<T> | undefined {
    return this.#entries[0];
  }

  push(entry: Due<T>): void {
    const entries = this.#entries;
    let index = entries.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= entry.at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): Due<T> | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    entries[0] = last;
    this.#sink();
    return first;
  }

  /** Holds these and nothing else. */
  reset(entries: Iterable<Due<T>> = []): void {
    this.#entries.length = 0;
    for (const entry of entries) this.push(entry);
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const smaller = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(smaller) >= this.#at(index)) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  /** Beyond the end everything is due never. */
  #at(index: number): number {
    return this.#entries[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#entries[a], this.#entries[b]];
    if (one === undefined || other === undefined) return;
    this.#entries[a] = other;
    this.#entries[b] = one;
  }
}
