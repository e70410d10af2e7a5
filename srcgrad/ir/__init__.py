"""The intermediate representation: grammar (`nodes`), walking, index arithmetic, checking, printing."""
