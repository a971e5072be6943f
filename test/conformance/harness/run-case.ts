// SPDX-License-Identifier: Apache-2.0
import { type Case, namespaceOf } from "./case.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { type Exchange, Session } from "./session.ts";

/** Runs a case on a server in a fresh namespace and gives its transcript. A case that fails ends with the reason. */
export async function runCase(one: Case, server: ServerUnderTest): Promise<readonly Exchange[]> {
  const session = new Session(server, namespaceOf(one));
  try {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: session.namespace } };
    const { code, text } = await session.post("/api/v1/namespaces", namespace, { quiet: true });
    if (code !== 201) throw new Error(`cannot create the namespace of the case: ${text}`);
    await one.run(session);
  } catch (error) {
    session.note("the case failed", error instanceof Error ? error.message : String(error));
  } finally {
    session.close();
  }
  return session.transcript;
}
