// Runs the provider in a control plane. `node src/main.ts --print-crds` prints the CRDs of its kinds.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProvider } from "@purlin/provider-sdk";
import { fileResource } from "./file.ts";

await runProvider({ name: "__NAME__", resources: [fileResource(join(tmpdir(), "files"))] });
