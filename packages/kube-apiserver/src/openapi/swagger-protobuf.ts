// SPDX-License-Identifier: Apache-2.0
// An OpenAPI v2 document in the protobuf form that Go clients ask for, by the field numbers of gnostic's OpenAPIv2.proto. Only what
// our documents contain is known here.
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

// Fields of protobuf messages as bytes.

const varintType = 0n;
const fixed64Type = 1n;
const bytesType = 2n;

/** A whole number. */
function varintField(number: number, value: bigint): Uint8Array {
  return Uint8Array.from([...tag(number, varintType), ...varint(BigInt.asUintN(64, value))]);
}

/** A fraction. */
function doubleField(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Uint8Array.from([...tag(number, fixed64Type), ...bytes]);
}

function textField(number: number, text: string): Uint8Array {
  return bytesField(number, Buffer.from(text));
}

/** Bytes, or a message. */
function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  const head = [...tag(number, bytesType), ...varint(BigInt(bytes.length))];
  const field = new Uint8Array(head.length + bytes.length);
  field.set(head);
  field.set(bytes, head.length);
  return field;
}

/** Fields one after the other: a message. */
function concatenated(fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function tag(number: number, wireType: bigint): number[] {
  return varint((BigInt(number) << 3n) | wireType);
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

/** Writes a value as the fields of a message. */
type Write = (value: JsonValue) => Uint8Array;

/** The document as bytes. */
export function swaggerProtobuf(document: JsonObject): Uint8Array {
  return writeDocument(document);
}

/** What each member of an object becomes; a field without a value is left out. */
function message(members: Readonly<Record<string, (value: JsonValue) => Uint8Array>>, extensions?: number): Write {
  return (value) => {
    if (!isJsonObject(value)) return new Uint8Array();
    const written = Object.entries(members).flatMap(([name, write]) => {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      return given === undefined ? [] : [write(given)];
    });
    return concatenated(extensions === undefined ? written : [...written, writeExtensions(value, extensions)]);
  };
}

const text =
  (number: number): Write =>
  (value) =>
    textField(number, String(value));
const bool =
  (number: number): Write =>
  (value) =>
    value === true ? varintField(number, 1n) : new Uint8Array();
const integer =
  (number: number): Write =>
  (value) =>
    varintField(number, BigInt(value as number | bigint));
const double =
  (number: number): Write =>
  (value) =>
    doubleField(number, Number(value));
const nested =
  (number: number, write: Write): Write =>
  (value) =>
    bytesField(number, write(value));
const each =
  (write: Write): Write =>
  (value) =>
    concatenated(isJsonArray(value) ? value.map(write) : []);
/** Members of an object as pairs of name and value, which is how the messages write maps. */
const pairs =
  (number: number, write: Write): Write =>
  (value) =>
    concatenated(
      Object.entries(isJsonObject(value) ? value : {}).map(([name, member]) =>
        bytesField(number, concatenated([textField(1, name), bytesField(2, write(member as JsonValue))])),
      ),
    );

/** Anything, as YAML, of which JSON is a part. */
const any: Write = (value) => textField(2, `${JSON.stringify(value)}\n`);

function writeExtensions(object: JsonObject, number: number): Uint8Array {
  const extensions = Object.entries(object).filter(([name]) => name.startsWith("x-"));
  return pairs(number, any)(Object.fromEntries(extensions));
}

const externalDocs = message({ description: text(1), url: text(2) });

const schema: Write = (value) => writeSchema(value);
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
    additionalProperties: (value) =>
      bytesField(21, typeof value === "boolean" ? bool(2)(value) : nested(1, schema)(value)),
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

/** Which message a parameter is follows from where it is. */
const parameter: Write = (value) => {
  const where = isJsonObject(value) ? value["in"] : "";
  if (where === "body") return nested(1, nested(1, bodyParameter))(value);
  return nested(1, nested(2, where === "path" ? nested(4, pathParameter) : nested(3, queryParameter)))(value);
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

const writeDocument = message({
  swagger: text(1),
  info: nested(2, message({ title: text(1), version: text(2) })),
  paths: nested(8, pairs(2, pathItem)),
  definitions: nested(9, pairs(1, schema)),
  security: each(nested(12, pairs(1, each(text(1))))),
  securityDefinitions: nested(13, pairs(1, nested(2, apiKey))),
});
