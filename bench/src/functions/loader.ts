// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { Client, credentials } from "@grpc/grpc-js";
import { runFunctionPaths } from "@purlin/function-protocol";
import { rotate } from "./rotate.ts";

/** Sends ready-made bytes to a function and drops what comes back, so that it costs as little as a gRPC client can. */
export interface Loader extends Disposable {
  /** Keeps `inFlight` calls under way for a time. */
  readonly callFor: (forMs: number) => Promise<{ readonly calls: number; readonly seconds: number }>;
  /** Makes a number of calls. */
  readonly call: (calls: number) => Promise<void>;
}

export interface LoaderOptions {
  readonly port: number;
  readonly requests: readonly Buffer[];
  readonly inFlight: number;
}

const unchanged = (bytes: Buffer): Buffer => bytes;

export function createLoader({ port, requests, inFlight }: LoaderOptions): Loader {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const next = rotate(requests);
  const callOnce = (): Promise<void> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(runFunctionPaths.v1, unchanged, unchanged, next(), (error, answer) => {
        if (error !== null) reject(error);
        else if (answer === undefined || answer.length === 0) reject(new Error("the function answered nothing"));
        else resolve();
      });
    });
  const keepBusy = async (wanted: () => boolean): Promise<number> => {
    let answered = 0;
    const worker = async (): Promise<void> => {
      while (wanted()) {
        await callOnce();
        answered++;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    return answered;
  };
  return {
    callFor: async (forMs) => {
      const started = performance.now();
      const calls = await keepBusy(() => performance.now() - started < forMs);
      return { calls, seconds: (performance.now() - started) / 1000 };
    },
    call: async (calls) => {
      let left = calls;
      await keepBusy(() => left-- > 0);
    },
    [Symbol.dispose]: () => client.close(),
  };
}
