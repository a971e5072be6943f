// SPDX-License-Identifier: Apache-2.0
import { describe, test } from "node:test";
import type { KubeClient } from "../../src/client.ts";
import type { ContractCase } from "./contract-case.ts";
import { informers } from "./informers.ts";
import { reads, watches } from "./reads.ts";
import { deletes, patches, writes } from "./writes.ts";

const groups: Readonly<Record<string, readonly ContractCase[]>> = {
  reads,
  writes,
  patches,
  deletes,
  watches,
  informers,
};
const patienceMs = 60_000;

/** The server behind a client. */
interface ContractServer {
  /** Creates a client of the running server with full permissions. */
  readonly connect: () => Promise<KubeClient>;
  /** Makes the server forget what was before now. Not needed where watches from version 1 are too old anyway. */
  readonly forget?: () => Promise<void>;
}

/** Defines tests of everything a client promises, whatever its transport and whichever server is behind it. */
export function testClientContract(name: string, server: ContractServer): void {
  describe(`client contract: ${name}`, () => {
    for (const [group, cases] of Object.entries(groups)) {
      for (const one of cases) test(`${group}: ${one.name}`, () => runCase(one, server));
    }
  });
}

async function runCase({ run }: ContractCase, { connect, forget = async () => {} }: ContractServer): Promise<void> {
  const client = await connect();
  try {
    const { metadata } = await client.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { generateName: "contract-" },
    });
    await run({ client, namespace: metadata.name ?? "", forget, signal: AbortSignal.timeout(patienceMs) });
  } finally {
    await client.close();
  }
}
