// SPDX-License-Identifier: Apache-2.0
// Writes the TypeScript of one .proto file: enums, interfaces and the descriptors our codec reads.
import { type DescEnum, type DescField, type DescFile, type DescMessage, ScalarType } from "@bufbuild/protobuf";

/** Which generated module holds the types of a .proto file. */
export type ModuleOf = (file: DescFile) => string;

const structName = "google.protobuf.Struct";

export function emitMessages(file: DescFile, moduleOf: ModuleOf): string {
  const { messages } = file;
  const enums = [...file.enums, ...file.messages.flatMap((message) => message.nestedEnums)];
  const body = [...enums.map(emitEnum), ...messages.map(emitMessage)].join("\n\n");
  return [
    "// SPDX-License-Identifier: Apache-2.0",
    `// Generated from ${file.name}.proto by \`npm run generate\`. Do not edit.`,
    ...imports(file, moduleOf, body),
    "",
    body,
    "",
  ].join("\n");
}

function imports(file: DescFile, moduleOf: ModuleOf, body: string): string[] {
  const lines: string[] = [];
  const core = ["type EnumType", "type Message", "type MessageType", "messageType"].filter((name) =>
    new RegExp(`\\b${name.replace("type ", "")}\\b`).test(body),
  );
  lines.push(`import { ${core.join(", ")} } from "../descriptor.ts";`);
  if (/\bStruct\b/.test(body)) lines.push('import type { Struct } from "../struct.ts";');
  const foreign = Map.groupBy(foreignMessages(file), (message) => moduleOf(message.file));
  for (const [module, used] of foreign) {
    lines.push(
      `import { ${[...new Set(used.map((message) => message.name))].sort().join(", ")} } from "./${module}.ts";`,
    );
  }
  return lines;
}

function foreignMessages(file: DescFile): DescMessage[] {
  return file.messages
    .flatMap((message) => message.fields)
    .flatMap((field) => field.message ?? [])
    .filter((message) => message.file !== file && message.typeName !== structName);
}

function emitEnum(type: DescEnum): string {
  const values = type.values.flatMap((value) => [...comment(value, "  "), `  ${value.name}: ${value.number},`]);
  return [
    ...comment(type, ""),
    `export const ${type.name} = {`,
    ...values,
    "} as const;",
    `/** A number of {@link ${type.name}}; numbers of newer protocol versions are kept. */`,
    `export type ${type.name} = (typeof ${type.name})[keyof typeof ${type.name}] | (number & {});`,
    `const ${type.name}Type: EnumType = { typeName: "${type.typeName}", values: ${type.name} };`,
  ].join("\n");
}

function emitMessage(type: DescMessage): string {
  const plain = type.fields.filter((field) => field.oneof === undefined);
  const members = plain.flatMap((field) => [...comment(field, "  "), `  ${property(field)};`]);
  for (const group of type.oneofs) {
    const cases = group.fields.map((field) => `{ case: "${field.localName}"; value: ${valueType(field)} }`);
    members.push(...comment(group, "  "), `  ${group.localName}?: ${cases.join(" | ")} | undefined;`);
  }
  return [
    ...comment(type, ""),
    `export interface ${type.name} extends Message {`,
    ...members,
    "}",
    `export const ${type.name}: MessageType<${type.name}> = messageType<${type.name}>("${type.typeName}", [`,
    ...[...type.fields].sort((a, b) => a.number - b.number).map((field) => `  ${descriptor(field)},`),
    "]);",
  ].join("\n");
}

function property(field: DescField): string {
  if (field.fieldKind === "list") return `${field.localName}: ${valueType(field)}[]`;
  if (field.fieldKind === "map") return `${field.localName}: Map<string, ${valueType(field)}>`;
  if (cardinality(field) === "implicit") return `${field.localName}: ${valueType(field)}`;
  return `${field.localName}?: ${valueType(field)} | undefined`;
}

function valueType(field: DescField): string {
  if (field.message !== undefined) return field.message.typeName === structName ? "Struct" : field.message.name;
  if (field.enum !== undefined) return field.enum.name;
  switch (field.scalar) {
    case ScalarType.STRING:
      return "string";
    case ScalarType.BYTES:
      return "Uint8Array";
    case ScalarType.BOOL:
      return "boolean";
    case ScalarType.INT32:
      return "number";
    case ScalarType.INT64:
      return "bigint";
    default:
      throw new Error(`${field}: teach the codec this scalar type first`);
  }
}

function cardinality(field: DescField): string {
  if (field.oneof !== undefined) return "oneof";
  if (field.fieldKind === "list" || field.fieldKind === "map") return field.fieldKind;
  if (field.fieldKind === "message" || field.proto.proto3Optional) return "optional";
  return "implicit";
}

function descriptor(field: DescField): string {
  const oneof = field.oneof === undefined ? "" : `, oneof: "${field.oneof.localName}"`;
  const names = `name: "${field.localName}", protoName: "${field.name}"`;
  return `{ number: ${field.number}, ${names}, cardinality: "${cardinality(field)}", value: ${value(field)}${oneof} }`;
}

function value(field: DescField): string {
  if (field.message?.typeName === structName) return '{ kind: "struct" }';
  if (field.message !== undefined) return `{ kind: "message", message: () => ${field.message.name} }`;
  if (field.enum !== undefined) return `{ kind: "enum", enum: ${field.enum.name}Type }`;
  return `{ kind: "scalar", scalar: "${ScalarType[field.scalar ?? 0]?.toLowerCase()}" }`;
}

type Commented = DescEnum | DescMessage | DescField | DescMessage["oneofs"][number] | DescEnum["values"][number];

function comment(thing: Commented, indent: string): string[] {
  const text = leadingComment(thing);
  const deprecated = "deprecated" in thing && thing.deprecated ? " @deprecated Use the field without `extra`." : "";
  if (text === "" && deprecated === "") return [];
  return [`${indent}/** ${text}${deprecated} */`];
}

function leadingComment(thing: Commented): string {
  const file = "file" in thing ? thing.file : thing.parent.file;
  const path = sourcePath(thing).join(",");
  const location = file.proto.sourceCodeInfo?.location.find((one) => one.path.join(",") === path);
  return (location?.leadingComments ?? "").trim().replaceAll(/\s*\n\s*/g, " ");
}

/** Where protoc keeps the comments of a descriptor: field numbers and indexes of FileDescriptorProto. */
function sourcePath(thing: Commented): number[] {
  switch (thing.kind) {
    case "message":
      return thing.parent
        ? [...sourcePath(thing.parent), 3, thing.parent.nestedMessages.indexOf(thing)]
        : [4, thing.file.messages.indexOf(thing)];
    case "enum":
      return thing.parent
        ? [...sourcePath(thing.parent), 4, thing.parent.nestedEnums.indexOf(thing)]
        : [5, thing.file.enums.indexOf(thing)];
    case "field":
      return [...sourcePath(thing.parent), 2, thing.parent.fields.indexOf(thing)];
    case "oneof":
      return [...sourcePath(thing.parent), 8, thing.parent.oneofs.indexOf(thing)];
    case "enum_value":
      return [...sourcePath(thing.parent), 2, thing.parent.values.indexOf(thing)];
  }
}
