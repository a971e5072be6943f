// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import type { TestContext } from "node:test";
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { KeyPair } from "@purlin/certificates";
import { decode, encode, type Message, type MessageType } from "@purlin/function-protocol";

/** What a caller shows and trusts. */
export interface CallerIdentity {
  readonly authority: KeyPair;
  readonly certificate?: KeyPair | undefined;
}

/** How a call is made. */
export interface RawCallOptions extends CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

const asIs = (bytes: Buffer): Buffer => bytes;

/** A gRPC client that sends and receives bytes, closed when the test ends. */
export class RawClient {
  readonly client: Client;

  constructor(t: TestContext, address: string, identity?: CallerIdentity) {
    this.client = new Client(address, credentialsOf(identity), {
      "grpc.max_receive_message_length": -1,
      "grpc.use_local_subchannel_pool": 1,
    });
    t.after(() => this.client.close());
  }

  call(path: string, bytes: Uint8Array, { signal, ...options }: RawCallOptions = {}): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Buffer): void =>
        error === null ? resolve(answer ?? Buffer.alloc(0)) : reject(error);
      const call = this.client.makeUnaryRequest(path, asIs, asIs, Buffer.from(bytes), new Metadata(), options, done);
      signal?.addEventListener("abort", () => call.cancel());
    });
  }

  /** Calls and decodes. */
  async unary<I extends Message, O extends Message>(
    path: string,
    [type, request]: readonly [MessageType<I>, I],
    answer: MessageType<O>,
  ): Promise<O> {
    return decode(answer, await this.call(path, encode(type, request)));
  }
}

function credentialsOf(identity: CallerIdentity | undefined): ReturnType<typeof credentials.createInsecure> {
  if (identity === undefined) return credentials.createInsecure();
  const { authority, certificate } = identity;
  const pem = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  return credentials.createSsl(Buffer.from(authority.certPem), pem(certificate?.keyPem), pem(certificate?.certPem));
}

/** True for a gRPC error of a code. */
export function hasCode(code: number): (error: unknown) => boolean {
  return (error) => error instanceof Error && "code" in error && error.code === code;
}
