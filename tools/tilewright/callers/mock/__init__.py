"""The mock caller: code that calls every implementation exactly as a tile compiler would."""
