// SPDX-License-Identifier: Apache-2.0
// Random messages of any type, made from its descriptor.
import { Buffer } from "node:buffer";
import { createFileRegistry, create as createWith, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { create, type Field, type Message, type MessageType, type Scalar, type ValueType } from "../src/descriptor.ts";
import { fileDescriptors } from "../src/gen/file-descriptors.ts";
import { Struct } from "../src/struct.ts";
import type { JsonObject } from "../src/struct-decode.ts";

const text = fc.string({ unit: "grapheme", maxLength: 60 });

/** JSON objects with awkward keys, deep nesting and every kind of value. */
export const arbitraryObject: fc.Arbitrary<JsonObject> = fc
  .dictionary(
    fc.oneof(text, fc.constantFrom("__proto__", "constructor", "", "metadata", "name")),
    fc.jsonValue({ maxDepth: 6, stringUnit: "grapheme" }),
    { maxKeys: 8, noNullPrototype: true },
  )
  .map((object) => object as JsonObject);

/** A random message, empty fields included. */
export function arbitraryMessage<T extends Message>(type: MessageType<T>, depth = 0): fc.Arbitrary<T> {
  const properties = Map.groupBy(type.fields, (field) => field.oneof ?? field.name);
  const shape: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [property, fields] of properties) {
    shape[property] = fc.oneof(...fields.map((field) => arbitraryField(field, depth)));
  }
  return fc.record(shape, { requiredKeys: [] }).map((init) => create(type, init as Partial<T>));
}

function arbitraryField(field: Field, depth: number): fc.Arbitrary<unknown> {
  if (depth > 4 && field.value.kind === "message") return fc.constant(undefined);
  const value = arbitraryValue(field.value, depth);
  switch (field.cardinality) {
    case "implicit":
      return value;
    case "optional":
      return fc.option(value, { nil: undefined });
    case "oneof":
      return fc.option(
        value.map((chosen) => ({ case: field.name, value: chosen })),
        { nil: undefined },
      );
    case "list":
      return fc.array(value, { maxLength: 4 });
    case "map":
      // In the order of a plain object, which is what the judge keeps maps in: keys like "0" come first there.
      return fc
        .array(fc.tuple(text, value), { maxLength: 4 })
        .map((entries) => new Map(Object.entries(Object.fromEntries(entries))));
  }
}

function arbitraryValue(type: ValueType, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "message":
      return arbitraryMessage(type.message(), depth + 1);
    case "struct":
      return arbitraryObject.map((object) => Struct.from(object));
    case "enum":
      return fc.oneof(fc.constantFrom(...Object.values(type.enum.values)), fc.integer());
    case "scalar":
      return arbitraryScalar(type.scalar);
  }
}

function arbitraryScalar(scalar: Scalar): fc.Arbitrary<unknown> {
  switch (scalar) {
    case "string":
      return text;
    case "bytes":
      return fc.uint8Array({ maxLength: 40 });
    case "bool":
      return fc.boolean();
    case "int32":
      return fc.integer();
    case "int64":
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  }
}

// The judge of our bytes: protobuf-es, working from the same compiled .proto files.

const files = Object.values(fileDescriptors).map((base64) =>
  fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64")),
);
const registry = createFileRegistry(createWith(FileDescriptorSetSchema, { file: files }));

/** The protobuf-es descriptor of a message type. */
export function judgeOf(typeName: string): DescMessage {
  const message = registry.getMessage(typeName);
  if (message === undefined) throw new Error(`${typeName} is not among the compiled .proto files`);
  return message;
}
