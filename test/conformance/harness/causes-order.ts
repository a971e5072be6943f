// SPDX-License-Identifier: Apache-2.0
import type { Loose } from "./loose.ts";

/**
 * The findings of an invalid object in an order of our own: the reference walks a schema's properties in the random order
 * of a Go map. That the message lists the very causes, in the order of the causes, is checked here.
 */
export function causesInOrder(value: Loose): Loose {
  const causes: readonly Loose[] = value.kind === "Status" ? (value.details?.causes ?? []) : [];
  if (causes.length < 2) return value;
  // The message of a conflict names managers in their order; its causes come in the order of a Go map.
  if (value.reason === "Conflict") return { ...value, details: { ...value.details, causes: inOrder(causes) } };
  const [start, inner] = splitMessage(value.message);
  if (value.reason !== "Invalid" || inner === undefined) return value;
  const texts = causes.map(textOf);
  // The message has each text once.
  const unique = [...new Set(texts)];
  if (inner !== unique.join(", ")) return { ...value, note: "the message does not list the causes in their order" };
  const message = `${start}[${unique.toSorted().join(", ")}]`;
  return { ...value, message, details: { ...value.details, causes: inOrder(causes) } };
}

function textOf({ field, message }: Loose): string {
  return `${field}: ${message}`;
}

function inOrder(causes: readonly Loose[]): readonly Loose[] {
  return causes.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

function splitMessage(message: unknown): readonly [start: string, inner: string | undefined] {
  const match = typeof message === "string" ? /^(.*? is invalid: )\[(.*)\]$/s.exec(message) : null;
  return [match?.[1] ?? "", match?.[2]];
}
