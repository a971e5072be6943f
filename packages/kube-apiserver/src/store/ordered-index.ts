// SPDX-License-Identifier: Apache-2.0
/** Splits a block when it has grown to this many; large enough to stay flat, small enough to shift quickly. */
const maxBlock = 512;
const minBlock = 64;

/**
 * Items in the order of their keys: a list of short sorted arrays. Finding, adding and removing cost two binary searches and
 * a shift inside one array, whether there are a thousand keys or a million.
 */
export class OrderedIndex<I extends { readonly key: string }> {
  readonly #blocks: I[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item whose key is not there yet. */
  add(item: I): void {
    this.#size += 1;
    const at = Math.max(0, this.#blockFor(item.key));
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push([item]);
      return;
    }
    block.splice(firstNotBefore(block, item.key), 0, item);
    if (block.length > maxBlock) this.#blocks.splice(at + 1, 0, block.splice(block.length >> 1));
  }

  /** Removes the item with the key, if there is one. */
  remove(key: string): void {
    const at = this.#blockFor(key);
    const block = this.#blocks[at];
    if (block === undefined) return;
    const position = firstNotBefore(block, key);
    if (block[position]?.key !== key) return;
    this.#size -= 1;
    block.splice(position, 1);
    if (block.length < minBlock) this.#shrink(at, block);
  }

  /** Items with keys not before the given one, in order. The index must not change while it is walked. */
  *from(key: string): Generator<I> {
    const start = Math.max(0, this.#blockFor(key));
    for (let at = start; at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at] ?? [];
      for (let i = at === start ? firstNotBefore(block, key) : 0; i < block.length; i += 1) {
        yield block[i] as I;
      }
    }
  }

  /** The last block that starts at or before the key; -1 when the key comes before everything. */
  #blockFor(key: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#blocks[middle]?.[0]?.key ?? "") <= key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }

  // Small blocks join a neighbour, so that many deletions leave no long list of nearly empty ones.
  #shrink(at: number, block: I[]): void {
    const next = this.#blocks[at + 1];
    if (next !== undefined && block.length + next.length <= maxBlock / 2) {
      block.push(...next);
      this.#blocks.splice(at + 1, 1);
    } else if (block.length === 0) {
      this.#blocks.splice(at, 1);
    }
  }
}

function firstNotBefore(block: readonly { readonly key: string }[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((block[middle]?.key ?? "") < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the question is exactly whether all characters are ASCII
const ascii = /^[\x00-\x7f]*$/;

/**
 * A form of the text whose JavaScript order is the order of the UTF-8 bytes: each byte as one character. JavaScript itself
 * compares UTF-16 units, which puts characters beyond U+FFFF in the wrong place. ASCII text, so nearly every key, is
 * its own form.
 */
export function byteOrdered(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}
