// SPDX-License-Identifier: Apache-2.0

/** Fields of newer protocol versions, kept as they came so that nothing is lost between two peers that know them. */
export interface Message {
  /** The encoded fields this version of the protocol does not know, in the order in which they came; a part may hold several. */
  $unknown?: Uint8Array[] | undefined;
}

/** Protobuf scalar types our messages use. */
export type Scalar = "string" | "bytes" | "bool" | "int32" | "int64";

/** The names and numbers of a protobuf enum. Numbers without a name are kept. */
export interface EnumType {
  readonly typeName: string;
  readonly values: Readonly<Record<string, number>>;
}

/** What a field, a list item or a map value holds. */
export type ValueType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | { readonly kind: "enum"; readonly enum: EnumType }
  | { readonly kind: "message"; readonly message: () => MessageType<Message> }
  | { readonly kind: "struct" };

/**
 * How a field appears in a message: `implicit` has a zero value, `optional` may be undefined, `list` and `map` are
 * empty when absent, `oneof` shares the property named by `oneof` with its siblings.
 */
type Cardinality = "implicit" | "optional" | "list" | "map" | "oneof";

/** One field of a message. */
export interface Field {
  readonly number: number;
  /** The property and protobuf-JSON name, lowerCamelCase. */
  readonly name: string;
  /** The name in the .proto file, also accepted when reading protobuf-JSON. */
  readonly protoName: string;
  readonly cardinality: Cardinality;
  readonly value: ValueType;
  readonly oneof?: string;
}

/** Describes a message type to the codec. */
export interface MessageType<T extends Message> {
  readonly typeName: string;
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
  /** Ties the descriptor to the interface; never set. */
  readonly $type?: T;
}

/** Makes a descriptor. Fields are given in ascending order of their numbers. */
export function messageType<T extends Message>(typeName: string, fields: readonly Field[]): MessageType<T> {
  return { typeName, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
}

type Writable = Record<string, unknown>;

/** A new message with every field present: zero, empty or undefined, unless `init` gives a value. */
export function create<T extends Message>(type: MessageType<T>, init?: Partial<T>): T {
  const message = createEmpty(type);
  if (init === undefined) return message as T;
  for (const [key, value] of Object.entries(init)) if (value !== undefined) message[key] = value;
  return message as T;
}

/** What an empty message of a type looks like, and which of its members must not be shared between messages. */
interface Blank {
  readonly template: Readonly<Writable>;
  readonly containers: readonly { readonly name: string; readonly isMap: boolean }[];
}

const blanks = new WeakMap<MessageType<Message>, Blank>();

/** Copies a template: a message has up to nine fields, and a request has a hundred messages. */
function createEmpty(type: MessageType<Message>): Writable {
  let blank = blanks.get(type);
  if (blank === undefined) {
    blank = blankOf(type);
    blanks.set(type, blank);
  }
  const message: Writable = { ...blank.template };
  for (const { name, isMap } of blank.containers) message[name] = isMap ? new Map() : [];
  return message;
}

function blankOf(type: MessageType<Message>): Blank {
  const template: Writable = {};
  for (const field of type.fields) template[field.oneof ?? field.name] = emptyValue(field);
  template["$unknown"] = undefined;
  const containers = type.fields.filter(({ cardinality }) => cardinality === "list" || cardinality === "map");
  return { template, containers: containers.map(({ name, cardinality }) => ({ name, isMap: cardinality === "map" })) };
}

function emptyValue(field: Field): unknown {
  switch (field.cardinality) {
    case "implicit":
      return zeroOf(field.value);
    case "list":
    case "map":
    case "optional":
    case "oneof":
      return undefined;
  }
}

/** The value an absent scalar or enum stands for. */
export function zeroOf(value: ValueType): unknown {
  if (value.kind === "enum") return 0;
  if (value.kind !== "scalar") return undefined;
  switch (value.scalar) {
    case "string":
      return "";
    case "bytes":
      return new Uint8Array(0);
    case "bool":
      return false;
    case "int32":
      return 0;
    case "int64":
      return 0n;
  }
}
