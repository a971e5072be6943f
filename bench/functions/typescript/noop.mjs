// SPDX-License-Identifier: Apache-2.0
// Answers every request with what it was given.
import { serve } from "@crossplane-org/function-sdk-typescript";

serve((_req, rsp) => rsp);
