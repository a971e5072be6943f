// SPDX-License-Identifier: Apache-2.0
import type { Field, Message, MessageType } from "./descriptor.ts";

/** How many entries a map or list may have, and what they are in an error. */
export interface EntryLimit {
  readonly most: number;
  /** Such as `desired resources`. */
  readonly what: string;
}

/** How much a message may hold. Reading stops at the first field or entry too many. */
export interface DecodeLimits {
  /**
   * Fields of the message, with those of the messages in it. A field of two bytes can become an object of a hundred; a peer that
   * fills a message with such fields would exhaust the memory of the reader.
   */
  readonly fields: number;
  readonly entries: ReadonlyMap<Field, EntryLimit>;
}

/** What holds for messages of any type. */
export const defaultDecodeLimits: DecodeLimits = { fields: 1_000_000, entries: new Map() };

/** The maps and lists of a message type with their limits, by the names of the fields. */
export function entryLimits<T extends Message>(
  type: MessageType<T>,
  limits: Partial<Record<keyof T & string, EntryLimit>>,
): readonly (readonly [Field, EntryLimit])[] {
  return type.fields.flatMap((field) => {
    const limit = (limits as Readonly<Record<string, EntryLimit | undefined>>)[field.name];
    return limit === undefined ? [] : [[field, limit] as const];
  });
}
