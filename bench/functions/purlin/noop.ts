// SPDX-License-Identifier: Apache-2.0
// Answers every request with what it was given.
import { main } from "@purlin/function-sdk";

await main((req, ctx) => ctx.to(req));
