// SPDX-License-Identifier: Apache-2.0
// The judge of our bytes: protobuf-es, working from the same compiled .proto files.
import { Buffer } from "node:buffer";
import { create, createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { fileDescriptors } from "../src/gen/file-descriptors.ts";

const files = Object.values(fileDescriptors).map((base64) =>
  fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64")),
);
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files }));

/** The protobuf-es descriptor of a message type. */
export function judgeOf(typeName: string): DescMessage {
  const message = registry.getMessage(typeName);
  if (message === undefined) throw new Error(`${typeName} is not among the compiled .proto files`);
  return message;
}
