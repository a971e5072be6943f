// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { create, createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { fileDescriptors } from "@purlin/function-protocol";

/** The protobuf-es descriptor of a message of ours, from the same compiled .proto files. */
export function protobufEsSchema(typeName: string): DescMessage {
  const file = Object.values(fileDescriptors).map((base64) =>
    fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64")),
  );
  const schema = createFileRegistry(create(FileDescriptorSetSchema, { file })).getMessage(typeName);
  if (schema === undefined) throw new Error(`${typeName} is not among the compiled .proto files`);
  return schema;
}
