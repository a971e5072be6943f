// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { decode, encode, type Message, type MessageType } from "@purlin/function-protocol";

/** What a caller shows and trusts. */
interface CallerIdentity {
  readonly authority: KeyPair;
  readonly certificate?: KeyPair | undefined;
}

/** How a call is made. */
interface RawCallOptions extends CallOptions {
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

/** A certificate authority for a test. */
export function newAuthority(name = "test"): KeyPair {
  return createAuthority({ commonName: name });
}

/** A certificate for a function that is reached as localhost. */
export function serverCertificate(authority: KeyPair, commonName = "function"): KeyPair {
  return issueCertificate(authority, { commonName, dnsNames: ["localhost"], usages: ["server"] });
}

/** A client certificate for calling functions. */
export function clientCertificate(authority: KeyPair): KeyPair {
  return issueCertificate(authority, { commonName: "runner", usages: ["client"] });
}

/** A directory that is gone when the test ends. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "function-sdk-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes the three files of a certificate directory, each complete at once. */
export async function writeCertificates(directory: string, authority: KeyPair, server: KeyPair): Promise<void> {
  await writeWhole(join(directory, "ca.crt"), authority.certPem);
  await writeWhole(join(directory, "tls.key"), server.keyPem);
  await writeWhole(join(directory, "tls.crt"), server.certPem);
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
