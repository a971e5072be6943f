// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { decode, fileDescriptors, type Message, type MessageType } from "@purlin/function-protocol";

type Field = MessageType<Message>["fields"][number];

// The few fields of descriptor.proto that name things; the codec skips the rest.
interface Named extends Message {
  name: string;
}
interface MessageDescriptor extends Named {
  fields: Named[];
  nested: MessageDescriptor[];
  enums: EnumDescriptor[];
}
interface EnumDescriptor extends Named {
  values: Named[];
}
interface ServiceDescriptor extends Named {
  methods: Named[];
}
interface FileDescriptor extends Named {
  package: string;
  dependencies: string[];
  messages: MessageDescriptor[];
  enums: EnumDescriptor[];
  services: ServiceDescriptor[];
}

const text = (number: number, name: string, cardinality: Field["cardinality"] = "implicit"): Field => ({
  number,
  name,
  protoName: name,
  cardinality,
  value: { kind: "scalar", scalar: "string" },
});

const list = (number: number, name: string, message: () => MessageType<Message>): Field => ({
  number,
  name,
  protoName: name,
  cardinality: "list",
  value: { kind: "message", message },
});

function describe<T extends Message>(typeName: string, fields: readonly Field[]): MessageType<T> {
  return { typeName, fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
}

const Name = describe<Named>("google.protobuf.Named", [text(1, "name")]);
const Enum = describe<EnumDescriptor>("google.protobuf.EnumDescriptorProto", [
  text(1, "name"),
  list(2, "values", () => Name),
]);
const Service = describe<ServiceDescriptor>("google.protobuf.ServiceDescriptorProto", [
  text(1, "name"),
  list(2, "methods", () => Name),
]);
const MessageProto: MessageType<MessageDescriptor> = describe<MessageDescriptor>("google.protobuf.DescriptorProto", [
  text(1, "name"),
  list(2, "fields", () => Name),
  list(3, "nested", () => MessageProto),
  list(4, "enums", () => Enum),
]);
const File = describe<FileDescriptor>("google.protobuf.FileDescriptorProto", [
  text(1, "name"),
  text(2, "package"),
  text(3, "dependencies", "list"),
  list(4, "messages", () => MessageProto),
  list(5, "enums", () => Enum),
  list(6, "services", () => Service),
]);

/** Finds compiled .proto files by what they define. */
export interface DescriptorIndex {
  /** A file and all it imports, itself first. Undefined for one we do not have. */
  withImports(file: string): Uint8Array[] | undefined;
  /** The file that defines a fully qualified name. */
  fileOf(symbol: string): string | undefined;
  isMessage(symbol: string): boolean;
}

/** Reads the compiled .proto files of the protocol. */
export function createDescriptorIndex(): DescriptorIndex {
  const files = new Map(Object.entries(fileDescriptors).map(([name, base64]) => [name, Buffer.from(base64, "base64")]));
  const imports = new Map<string, readonly string[]>();
  const symbols = new Map<string, string>();
  const messages = new Set<string>();
  for (const [name, bytes] of files) {
    const file = decode(File, bytes);
    imports.set(name, file.dependencies);
    for (const symbol of symbolsOf(file, messages)) symbols.set(symbol, name);
  }
  return {
    withImports: (file) =>
      files.has(file) ? closure(file, imports).flatMap((name) => files.get(name) ?? []) : undefined,
    fileOf: (symbol) => symbols.get(symbol),
    isMessage: (symbol) => messages.has(symbol),
  };
}

function closure(file: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set([file]);
  for (const name of found) for (const imported of imports.get(name) ?? []) found.add(imported);
  return [...found];
}

function symbolsOf(file: FileDescriptor, messages: Set<string>): string[] {
  return [
    ...file.messages.flatMap((message) => messageSymbols(file.package, message, messages)),
    ...file.enums.flatMap((one) => enumSymbols(file.package, one)),
    ...file.services.flatMap(({ name, methods }) => withMembers(`${file.package}.${name}`, methods)),
  ];
}

function messageSymbols(scope: string, message: MessageDescriptor, messages: Set<string>): string[] {
  const name = `${scope}.${message.name}`;
  messages.add(name);
  return [
    ...withMembers(name, message.fields),
    ...message.nested.flatMap((nested) => messageSymbols(name, nested, messages)),
    ...message.enums.flatMap((one) => enumSymbols(name, one)),
  ];
}

/** Values of an enum are named beside it, not inside: protobuf takes that from C++. */
function enumSymbols(scope: string, { name, values }: EnumDescriptor): string[] {
  return [`${scope}.${name}`, ...values.map((value) => `${scope}.${value.name}`)];
}

function withMembers(name: string, members: readonly Named[]): string[] {
  return [name, ...members.map((member) => `${name}.${member.name}`)];
}
