// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { compareTranscripts, describeDifferences } from "../harness/compare.ts";
import { startEmbedded } from "../harness/embedded-server.ts";
import { prepareServer } from "../harness/fixtures.ts";
import { startReference } from "../harness/reference-server.ts";
import type { ServerUnderTest } from "../harness/server-under-test.ts";
import { Session } from "../harness/session.ts";

/** The embedded server and the reference, asked the same. */
export interface BothServers extends AsyncDisposable {
  /** Has the same conversation with both, in one namespace; fails when they went differently. Gives what the reference said. */
  sameAnswers(namespace: string, talk: (session: Session) => Promise<void>): Promise<Session["transcript"]>;
}

/** Starts both servers; `referenceOnly` starts two references, to find out what is chance. */
export async function startBoth({ referenceOnly }: { readonly referenceOnly: boolean }): Promise<BothServers> {
  const servers = await Promise.all([referenceOnly ? startReference() : startEmbedded(), startReference()]);
  await Promise.all(servers.map(prepareServer));
  const namespaces = new Set<string>();
  return {
    async sameAnswers(namespace, talk) {
      if (!namespaces.has(namespace)) await Promise.all(servers.map((server) => createNamespace(server, namespace)));
      namespaces.add(namespace);
      const [ours, theirs] = (await Promise.all(servers.map((server) => transcriptOf(server, namespace, talk)))) as [
        Session["transcript"],
        Session["transcript"],
      ];
      const differences = compareTranscripts(ours, theirs);
      assert.equal(differences.length, 0, `${differences.length} differences\n${describeDifferences(differences, 8)}`);
      return theirs;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function createNamespace(server: ServerUnderTest, name: string): Promise<void> {
  const session = new Session(server, name);
  await session.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

async function transcriptOf(
  server: ServerUnderTest,
  namespace: string,
  talk: (session: Session) => Promise<void>,
): Promise<Session["transcript"]> {
  const session = new Session(server, namespace);
  try {
    await talk(session);
  } finally {
    session.close();
  }
  return session.transcript;
}
