// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import type { MethodDefinition } from "@grpc/grpc-js";
import { decode, encode, type Message, type MessageType } from "@purlin/function-protocol";

/** How the two sides of a method are read and written, and which of them stream. */
interface Sides<I, O> {
  readonly request: I;
  readonly response: O;
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}

/** A method whose handler gets and gives bytes. Reading and writing them ourselves lets errors say what was wrong. */
export function bytesMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return define(path, { request: bytes, response: bytes });
}

/** A method whose handler gets and gives messages. */
export function messageMethod<I extends Message, O extends Message>(
  path: string,
  { request, response, ...streaming }: Sides<MessageType<I>, MessageType<O>>,
): MethodDefinition<I, O> {
  return define(path, { request: serializer(request), response: serializer(response), ...streaming });
}

interface Serializer<T> {
  readonly read: (bytes: Buffer) => T;
  readonly write: (value: T) => Buffer;
}

const asIs = (value: Buffer): Buffer => value;
const bytes: Serializer<Buffer> = { read: asIs, write: asIs };

function serializer<T extends Message>(type: MessageType<T>): Serializer<T> {
  return { read: (encoded) => decode(type, encoded), write: (message) => encode(type, message) };
}

function define<I, O>(
  path: string,
  { request, response, requestStream = false, responseStream = false }: Sides<Serializer<I>, Serializer<O>>,
): MethodDefinition<I, O> {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: request.write,
    requestDeserialize: request.read,
    responseSerialize: response.write,
    responseDeserialize: response.read,
  };
}
