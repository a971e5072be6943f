// SPDX-License-Identifier: Apache-2.0

import { Turns } from "@purlin/base";
import { create, type Field, type Message, type MessageType } from "./descriptor.ts";
import {
  type DecodeLimits,
  decode,
  defaultDecodeLimits,
  type Fields,
  finish,
  inField,
  keepUnknown,
  MessageReader,
  nestedEnd,
  type OpenMessage,
  readNext,
} from "./message-decode.ts";
import { WireType } from "./wire-reader.ts";

/** Messages of up to this many bytes are read at once. */
const atOnceBytes = 64 * 1024;

/** As {@link decode}, in parts that let other work run: the entries of the maps and lists of a large message are read one after the other. */
export async function decodeInTurns<T extends Message>(
  type: MessageType<T>,
  bytes: Uint8Array,
  limits: DecodeLimits = defaultDecodeLimits,
): Promise<T> {
  if (bytes.length <= atOnceBytes) return decode(type, bytes, limits);
  const reader = new MessageReader(bytes, limits);
  return readInTurns({ type, message: create(type), end: reader.end, known: 0 }, { reader, turns: new Turns() });
}

interface Reading {
  readonly reader: MessageReader;
  readonly turns: Turns;
}

async function readInTurns<T extends Message>(open: OpenMessage<T>, reading: Reading): Promise<T> {
  const { reader, turns } = reading;
  while (reader.position < open.end) {
    const nested = nextMessage(open, reader);
    if (nested === undefined) readNext(open, reader);
    else await readNested(open, nested, reading);
    if (turns.isOver) await turns.next();
  }
  return finish(open, reader);
}

/** The field that comes next if it is one message: only such a one can be long without being a list or a map itself. */
function nextMessage<T extends Message>({ type }: OpenMessage<T>, reader: MessageReader): Field | undefined {
  const start = reader.position;
  const tag = reader.varint();
  reader.position = start;
  const field = type.byNumber.get(tag >>> 3);
  const isMessage = (tag & 7) === WireType.bytes && field?.value.kind === "message";
  return isMessage && field.cardinality === "optional" ? field : undefined;
}

async function readNested<T extends Message>(open: OpenMessage<T>, field: Field, reading: Reading): Promise<void> {
  if (field.value.kind !== "message") return;
  const { reader } = reading;
  const type = field.value.message();
  const outer = open.message as Fields;
  try {
    if (reader.position > open.known) keepUnknown(open, reader, reader.position);
    reader.tag();
    const end = nestedEnd(reader);
    const message = (outer[field.name] as Message | undefined) ?? create(type);
    outer[field.name] = await readInTurns({ type, message, end, known: reader.position }, reading);
    open.known = reader.position;
  } catch (error) {
    throw inField(error, open.type, field.name);
  }
}
