// SPDX-License-Identifier: Apache-2.0
import type { Loose } from "./loose.ts";

/**
 * Entries are sorted by operation, then by time in whole seconds, then by manager: whether two writes fall into one
 * second is chance, so they are compared in an order without time. That the sent order was the right one is checked here.
 */
export function managedFieldsInOrder(entries: readonly Loose[]): readonly Loose[] {
  if (!entries.every((entry) => typeof entry === "object" && entry !== null)) return entries;
  const sorted = [...entries].sort(by(withTime));
  const inOrder = sorted.every((entry, index) => entry === entries[index]);
  const shown = [...entries].sort(by(withoutTime));
  return inOrder ? shown : [...shown, "these entries were not sorted"];
}

const withoutTime = ["operation", "manager", "apiVersion", "subresource"];
const withTime = ["operation", "time", "manager", "apiVersion", "subresource"];

function by(keys: readonly string[]): (a: Loose, b: Loose) => number {
  return (a, b) => {
    for (const key of keys) {
      const order = Buffer.compare(Buffer.from(String(a[key] ?? "")), Buffer.from(String(b[key] ?? "")));
      if (order !== 0) return order;
    }
    return 0;
  };
}
