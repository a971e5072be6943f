// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type Contender, startEmbedded, startPair } from "./contenders.ts";
import { Http2Client } from "./http2-client.ts";
import { type Load, startLoader } from "./load.ts";
import { collections, widgetDefinition } from "./objects.ts";

/** A contender with its load. */
export interface Side {
  readonly contender: Contender;
  readonly load: Load;
}

export interface Both {
  readonly ours: Side;
  readonly pair: Side;
}

/** Starts both contenders, each knowing Widgets, and stops them after. */
export async function withBoth<T>(use: (both: Both) => Promise<T>): Promise<T> {
  await using ours = await startSide(startEmbedded);
  await using pair = await startSide(startPair);
  return await use({ ours, pair });
}

/** One contender that knows Widgets, with its load. */
export async function startSide(start: () => Promise<Contender>): Promise<Side & AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  try {
    const contender = stack.use(await start());
    await defineWidgets(contender);
    const load = stack.use(startLoader(contender.access));
    return { contender, load, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

const definedWithinMs = 60_000;

async function defineWidgets({ access }: Contender): Promise<void> {
  const client = new Http2Client(access);
  try {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const { code } = await client.request("POST", path, Buffer.from(JSON.stringify(widgetDefinition)));
    if (code !== 201) throw new Error(`the definition of Widgets was answered with ${code}`);
    const deadline = performance.now() + definedWithinMs;
    while ((await client.request("GET", collections.Widget)).code !== 200) {
      if (performance.now() > deadline) throw new Error("Widgets were never served");
      await delay(50);
    }
  } finally {
    client.close();
  }
}
