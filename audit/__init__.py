"""Spark reads what happened and says which promises were kept; an oracle in plain Python stands beside it.

Reading order: `java` (which Java), `spark_home` (where Spark lives), `gateway` (its virtual machine),
`session` (a session in it), `class_archive` (why it starts quickly).
"""
