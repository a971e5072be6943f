// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { Target } from "../../conformance/harness/wire.ts";
import { type Answer, ask, configMap, configMaps } from "./config-maps.ts";
import type { Ledger } from "./ledger.ts";
import { isServerGone } from "./server-gone.ts";

const writers = 8;
const namesEach = 10;

/** Creates, updates and deletes with several clients at once until the server is gone. Names belong to one writer each. */
export async function writeUntilDeath(target: Target, ledger: Ledger, life: number): Promise<void> {
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(target, ledger, `${life}-${writer}`)));
}

async function write(target: Target, ledger: Ledger, writer: string): Promise<void> {
  for (let round = 0; ; round += 1) {
    const name = `w${writer.split("-")[1]}-${round % namesEach}`;
    const exists = ledger.stateOf(name).version !== undefined;
    // Long now and then, so that commits span pages.
    const text =
      exists && round % 5 === 4 ? undefined : `${writer}-${round}-${"x".repeat(round % 7 === 6 ? 9000 : 20)}`;
    const answer = await attempt(target, name, { exists, text });
    if (answer === undefined) {
      ledger.unanswered(name, text);
      return;
    }
    assert.ok(answer.code === 200 || answer.code === 201, `${name}: ${answer.code} ${answer.body.message}`);
    const version = text === undefined ? undefined : BigInt(answer.body.metadata.resourceVersion);
    ledger.answered(name, { version, text });
  }
}

/** The response; undefined without one. */
async function attempt(
  target: Target,
  name: string,
  { exists, text }: { readonly exists: boolean; readonly text: string | undefined },
): Promise<Answer | undefined> {
  try {
    if (text === undefined) return await ask(target, "DELETE", `${configMaps}/${name}`);
    if (exists) return await ask(target, "PUT", `${configMaps}/${name}`, configMap(name, text));
    return await ask(target, "POST", configMaps, configMap(name, text));
  } catch (error) {
    if (isServerGone(error)) return undefined;
    throw error;
  }
}
