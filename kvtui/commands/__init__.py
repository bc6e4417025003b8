"""The commands of ``kvtui``, one thin module each: flags in, the layers below, output out."""
