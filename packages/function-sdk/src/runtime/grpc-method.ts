// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import type { MethodDefinition } from "@grpc/grpc-js";
import { decode, encode, type Message, type MessageType } from "@purlin/function-protocol";

/** Which sides of a method stream. */
interface Streaming {
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}

/** A method whose handler gets and gives bytes. Reading and writing them ourselves lets errors say what was wrong. */
export function bytesMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return define(path, {}, { read: asIs, write: asIs }, { read: asIs, write: asIs });
}

/** A method whose handler gets and gives messages. */
export function messageMethod<I extends Message, O extends Message>(
  path: string,
  request: MessageType<I>,
  response: MessageType<O>,
  streaming: Streaming = {},
): MethodDefinition<I, O> {
  return define(path, streaming, serializer(request), serializer(response));
}

interface Serializer<T> {
  readonly read: (bytes: Buffer) => T;
  readonly write: (value: T) => Buffer;
}

const asIs = (bytes: Buffer): Buffer => bytes;

function serializer<T extends Message>(type: MessageType<T>): Serializer<T> {
  return { read: (bytes) => decode(type, bytes), write: (message) => encode(type, message) };
}

function define<I, O>(
  path: string,
  { requestStream = false, responseStream = false }: Streaming,
  request: Serializer<I>,
  response: Serializer<O>,
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
