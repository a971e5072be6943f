// SPDX-License-Identifier: Apache-2.0
import { type GroupVersionKind, messageFields, type ProtobufField } from "@purlin/kube-objects";

/** A Go struct as its JSON form shows it: fields in order, those of inlined structs among them. */
export interface TypedStruct {
  /** Without its package. */
  readonly name: string;
  readonly fields: readonly ProtobufField[];
  readonly byName: ReadonlyMap<string, ProtobufField>;
}

const known = new Map<string, TypedStruct>();

/** The struct of a message; undefined when there is none. The protobuf field table describes both. */
export function typedStruct(message: string): TypedStruct | undefined {
  const existing = known.get(message);
  if (existing !== undefined) {
    return existing;
  }
  const fields = flatten(message);
  if (fields === undefined) {
    return undefined;
  }
  const name = message.slice(message.lastIndexOf(".") + 1);
  const struct = { name, fields, byName: new Map(fields.map((field) => [field.name, field])) };
  known.set(message, struct);
  return struct;
}

function flatten(message: string): ProtobufField[] | undefined {
  return messageFields(message)?.flatMap((field) =>
    field.inlined && field.type.kind === "message" ? (flatten(field.type.name) ?? []) : [field],
  );
}

/** The message of a built-in kind. */
export function messageOf({ group, version, kind }: GroupVersionKind): string {
  return `${group === "" ? "core" : group.split(".", 1)[0]}.${version}.${kind}`;
}
