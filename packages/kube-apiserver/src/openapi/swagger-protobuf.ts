// SPDX-License-Identifier: Apache-2.0
// An OpenAPI v2 document in the protobuf form that Go clients ask for, by the field numbers of gnostic's OpenAPIv2.proto. Only what
// our documents contain is known here.
import type { Work } from "@purlin/base";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";

const varintType = 0;
const fixed64Type = 1;
const bytesType = 2;

/** Room for a field that is not text: a tag and ten bytes. */
const fieldBytes = 16;
/** Most bytes of a character in UTF-8, for each unit of UTF-16. */
const bytesPerUnit = 3;

/** Fields of protobuf messages, one after the other in one buffer that grows. */
class MessageWriter {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #end = 0;

  /** A copy of what is written so far: the buffer may be twice as long. */
  written(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#end));
  }

  integer(number: number, value: bigint): void {
    this.#reserve(fieldBytes);
    this.#tag(number, varintType);
    let rest = BigInt.asUintN(64, value);
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#end++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#end++] = Number(rest);
  }

  double(number: number, value: number): void {
    this.#reserve(fieldBytes);
    this.#tag(number, fixed64Type);
    this.#end = this.#bytes.writeDoubleLE(value, this.#end);
  }

  text(number: number, text: string): void {
    this.message(number, () => {
      this.#reserve(text.length * bytesPerUnit);
      this.#end += this.#bytes.write(text, this.#end);
    });
  }

  /** A message in a field of another one. */
  message(number: number, write: () => void): void {
    const start = this.#begin(number);
    write();
    this.#finish(start);
  }

  /** The same, written in parts. */
  *messageInParts(number: number, write: () => Work<void>): Work<void> {
    const start = this.#begin(number);
    yield* write();
    this.#finish(start);
  }

  /** Leaves one byte for the length, which most messages need, and returns where the content begins. */
  #begin(number: number): number {
    this.#reserve(fieldBytes);
    this.#tag(number, bytesType);
    return ++this.#end;
  }

  /** Writes the length in front of the content, and moves the content when the length needs more than one byte. */
  #finish(start: number): void {
    const length = this.#end - start;
    const more = lengthBytes(length) - 1;
    if (more > 0) {
      this.#reserve(more);
      this.#bytes.copyWithin(start + more, start, this.#end);
    }
    this.#end = start - 1;
    this.#varint(length);
    this.#end += length;
  }

  #tag(number: number, wireType: number): void {
    this.#varint(number * 8 + wireType);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#end++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#end++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + bytes));
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}

function lengthBytes(length: number): number {
  let bytes = 1;
  for (let rest = length; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}

/** Writes a value as the fields of a message. */
type Write = (out: MessageWriter, value: JsonValue) => void;

/** The document as bytes, made a path and a definition at a time. */
export function* swaggerProtobuf(document: JsonObject): Work<Uint8Array> {
  const out = new MessageWriter();
  beginOfDocument(out, document);
  for (const { name, number, write } of partsOfDocument) {
    yield* out.messageInParts(number, function* () {
      for (const entry of entriesOf(document[name])) {
        write(out, entry);
        yield;
      }
    });
  }
  endOfDocument(out, document);
  return out.written();
}

/** What each member of an object becomes; a field without a value is left out. */
function message(members: Readonly<Record<string, Write>>, extensions?: number): Write {
  const fields = Object.entries(members);
  const writeExtension = extensions === undefined ? undefined : pair(extensions, any);
  return (out, value) => {
    if (!isJsonObject(value)) return;
    for (const [name, write] of fields) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given !== undefined) write(out, given);
    }
    if (writeExtension === undefined) return;
    for (const name in value) if (name.startsWith("x-")) writeExtension(out, [name, value[name] ?? null]);
  };
}

const text =
  (number: number): Write =>
  (out, value) =>
    out.text(number, String(value));
const bool =
  (number: number): Write =>
  (out, value) => {
    if (value === true) out.integer(number, 1n);
  };
const integer =
  (number: number): Write =>
  (out, value) =>
    out.integer(number, BigInt(value as number | bigint));
const double =
  (number: number): Write =>
  (out, value) =>
    out.double(number, Number(value));
const nested =
  (number: number, write: Write): Write =>
  (out, value) =>
    out.message(number, () => write(out, value));
const each =
  (write: Write): Write =>
  (out, value) => {
    if (isJsonArray(value)) for (const one of value) write(out, one);
  };

type Entry = readonly [name: string, value: JsonValue];

const entriesOf = (value: JsonValue | undefined): readonly Entry[] =>
  isJsonObject(value) ? Object.entries(value) : [];

/** A member of an object as a pair of name and value, which is how the messages write maps. */
function pair(number: number, write: Write): (out: MessageWriter, entry: Entry) => void {
  return (out, [name, value]) =>
    out.message(number, () => {
      out.text(1, name);
      out.message(2, () => write(out, value));
    });
}

function pairs(number: number, write: Write): Write {
  const writePair = pair(number, write);
  return (out, value) => {
    for (const entry of entriesOf(value)) writePair(out, entry);
  };
}

/** Anything, as YAML, of which JSON is a part. */
function any(out: MessageWriter, value: JsonValue): void {
  out.text(2, `${printJson(value)}\n`);
}

const externalDocs = message({ description: text(1), url: text(2) });

const schema: Write = (out, value) => writeSchema(out, value);
const anyMember = bool(2);
const memberSchema = nested(1, schema);
const writeSchema: Write = message(
  {
    $ref: text(1),
    format: text(2),
    title: text(3),
    description: text(4),
    default: nested(5, any),
    multipleOf: double(6),
    maximum: double(7),
    exclusiveMaximum: bool(8),
    minimum: double(9),
    exclusiveMinimum: bool(10),
    maxLength: integer(11),
    minLength: integer(12),
    pattern: text(13),
    maxItems: integer(14),
    minItems: integer(15),
    uniqueItems: bool(16),
    maxProperties: integer(17),
    minProperties: integer(18),
    required: each(text(19)),
    enum: each(nested(20, any)),
    additionalProperties: nested(21, (out, value) =>
      typeof value === "boolean" ? anyMember(out, value) : memberSchema(out, value),
    ),
    type: nested(22, text(1)),
    items: nested(23, nested(1, schema)),
    properties: nested(25, pairs(1, schema)),
    externalDocs: nested(29, externalDocs),
    example: nested(30, any),
  },
  31,
);

const bodyParameter = message({
  description: text(1),
  name: text(2),
  in: text(3),
  required: bool(4),
  schema: nested(5, schema),
});
const queryParameter = message({
  required: bool(1),
  in: text(2),
  description: text(3),
  name: text(4),
  type: text(6),
  uniqueItems: bool(20),
});
const pathParameter = message({
  required: bool(1),
  in: text(2),
  description: text(3),
  name: text(4),
  type: text(5),
  uniqueItems: bool(19),
});

const inBody = nested(1, nested(1, bodyParameter));
const inPath = nested(1, nested(2, nested(4, pathParameter)));
const inQuery = nested(1, nested(2, nested(3, queryParameter)));

/** Which message a parameter is follows from where it is. */
const parameter: Write = (out, value) => {
  const where = isJsonObject(value) ? value["in"] : "";
  if (where === "body") inBody(out, value);
  else if (where === "path") inPath(out, value);
  else inQuery(out, value);
};

const response = message({ description: text(1), schema: nested(2, nested(1, schema)) });

const operation = message(
  {
    tags: each(text(1)),
    description: text(3),
    operationId: text(5),
    produces: each(text(6)),
    consumes: each(text(7)),
    parameters: each(nested(8, parameter)),
    responses: nested(9, pairs(1, nested(1, response))),
    schemes: each(text(10)),
  },
  13,
);

const pathItem = message({
  get: nested(2, operation),
  put: nested(3, operation),
  post: nested(4, operation),
  delete: nested(5, operation),
  patch: nested(8, operation),
  parameters: each(nested(9, parameter)),
});

const apiKey = message({ type: text(1), name: text(2), in: text(3), description: text(4) });

const beginOfDocument = message({ swagger: text(1), info: nested(2, message({ title: text(1), version: text(2) })) });
const partsOfDocument = [
  { name: "paths", number: 8, write: pair(2, pathItem) },
  { name: "definitions", number: 9, write: pair(1, schema) },
];
const endOfDocument = message({
  security: each(nested(12, pairs(1, each(text(1))))),
  securityDefinitions: nested(13, pairs(1, nested(2, apiKey))),
});
